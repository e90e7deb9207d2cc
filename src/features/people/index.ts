import type { Feature } from '../../feature.ts'
import type { OpenPeople } from './open.ts'

export const people: Feature<OpenPeople> = {
  name: 'people',
  settings: {
    after: 'adminToken',
    rows: async () => (await import('./settings.ts')).peopleSettings,
  },
  checkSettings: async (settings) => (await import('./sign-in-check.ts')).checkSignIn(settings),
  open: async (core) => (await import('./open.ts')).openPeople(core),
}
