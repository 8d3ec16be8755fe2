{ // swap x and y; float temp_var = x; x = y; y = temp_var; }
