import type { SourceDeclaration } from '../../core/catalog/built-in-sources.ts'
import { auditSource } from '../../core/catalog/reserved-sources.ts'

/** Holds who changed what. */
export const auditDeclaration = {
  name: auditSource,
  description: 'Who changed what, and who signed in. Written by the service, and readable by admins only.',
  columns: [
    { name: 'action', path: 'action', type: 'text' },
    { name: 'actor_type', path: 'actor.type', type: 'text' },
    { name: 'actor_id', path: 'actor.id', type: 'text' },
    { name: 'actor_name', path: 'actor.name', type: 'text' },
    { name: 'target', path: 'target', type: 'text' },
    { name: 'target_id', path: 'target_id', type: 'text' },
    { name: 'version', path: 'version', type: 'number' },
    { name: 'position', path: 'position', type: 'number' },
  ],
} satisfies SourceDeclaration
