import type { Feature } from '../../feature.ts'
import type { OpenConsole } from './open.ts'

export const consolePages: Feature<OpenConsole> = {
  name: 'console',
  open: async (core) => (await import('./open.ts')).openConsole(core),
}
