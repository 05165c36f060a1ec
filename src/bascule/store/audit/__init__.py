"""Storage of the audit log: hash chain, files, folder, writer and anchors."""
