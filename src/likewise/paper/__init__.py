"""The paper's tables: packaged recipes, their runner, the records of runs, and RESULTS.md made from them."""
