import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** For `npm run torture`: one scenario after the other, each for as long as it takes, and its words as they come. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['torture/support/long-form.test.ts'],
    testTimeout: 0,
    hookTimeout: 0,
    pool: 'forks',
    disableConsoleIntercept: true,
    reporters: [{}],
  },
})
