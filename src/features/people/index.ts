import type { Feature } from '../../feature.ts'
import type { OpenPeople } from './open.ts'

export const people: Feature<OpenPeople> = {
  name: 'people',
  open: async (core) => (await import('./open.ts')).openPeople(core),
}
