"""Reading and writing files: JSON within bounds, archives within bounds, disks that are full or closed."""
