import type { Feature } from '../../feature.ts'
import type { OpenAudit } from './open.ts'

export type { Audit } from './audit.ts'

export const audit: Feature<OpenAudit> = {
  name: 'audit',
  open: async (core) => (await import('./open.ts')).openAudit(core),
}
