import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // An emulated engine takes a quarter of a minute to start; a native one a tenth of a second.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    maxWorkers: 2,
    pool: 'forks',
  },
})
