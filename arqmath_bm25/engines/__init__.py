"""What finds documents by weighted terms; engines differ in speed and size, never in a byte."""
