// The page of help has no script of its own.

export {};
