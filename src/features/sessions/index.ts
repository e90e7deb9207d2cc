import type { Feature } from '../../feature.ts'

export const sessions: Feature = {
  name: 'sessions',
  open: async (core) => (await import('./open.ts')).openSessions(core),
}
