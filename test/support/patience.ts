import { vi } from 'vitest'

/** Of whatever a test waits for. It is only spent if the test fails, and a busy machine needs more than Vitest's second. */
const timeout = 60_000

const { waitFor } = vi
if (!('isPatient' in waitFor)) {
  const patient: typeof waitFor = (callback, options) =>
    waitFor(callback, typeof options === 'number' ? options : { timeout, ...options })
  vi.waitFor = Object.assign(patient, { isPatient: true })
}
