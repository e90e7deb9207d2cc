import type { Feature } from '../../feature.ts'
import type { OpenAudit } from './open.ts'
import { auditDeclaration } from './source.ts'

export type { Audit } from './audit.ts'

export const audit: Feature<OpenAudit> = {
  name: 'audit',
  sources: [auditDeclaration],
  open: async (core) => (await import('./open.ts')).openAudit(core),
}
