os.kill(os.getpid(), signal.SIGSTOP)
signal.pause()
