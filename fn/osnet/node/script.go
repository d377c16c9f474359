package node

import _ "embed" // for the script

//go:generate go run ../../bootstrap/internal/pack l2cluster-network

//go:embed l2cluster-network
var script string

//go:embed l2cluster-network.gz
var scriptGzip []byte

// Script is the file that brings up the machine's network from its description:
// the same for every pool, operating system and back end.
func Script() File {
	return File{Path: ScriptPath, Permissions: "0755", Content: script, Gzip: scriptGzip}
}
