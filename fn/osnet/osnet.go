// Package osnet renders the network of a pool's machines as files of their
// operating system. The files are the same on every machine of the pool: they
// hold placeholders where a machine's own addresses and the names of its ports
// go, and the node script fills those in when the machine boots.
package osnet

// File on a machine.
type File struct {
	// Path, absolute.
	Path string
	// Permissions in octal, for example 0644.
	Permissions string
	// Content that the machine's disk gets, byte for byte.
	Content string
	// Gzip is Content compressed ahead of time, for content that is large and
	// fixed; empty for everything else.
	Gzip []byte
	// Live says that template engines on the way to the machine must fill in
	// placeholders of the content, so it travels unencoded.
	Live bool
}
