"""Random draws of the weights: W itself (`dense`) and the width-free Hessenberg law of ||W^k x|| (`krylov`)."""
