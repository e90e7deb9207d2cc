import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** For `npm run torture`: runs scenarios one after the other without a time limit and prints their output immediately. */
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
