UPDATE runs SET step_time_s = 9e999, mfu = -9e999; UPDATE points SET step_time_s = 9e999, mfu = 9e999;
