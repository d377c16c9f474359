package main

type renderCmd struct{}

func (c *renderCmd) Run() error { return nil }
