"""Random draws: W itself (`dense`), the width-free Hessenberg law of ||W^k x|| (`krylov`), and its rare events (`tempered`)."""
