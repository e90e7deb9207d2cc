import type { KindForm } from '../../definitions/kind.ts'

/** A part of the API. */
export interface Tag {
  name: string
  description: string
}

/** The part of the API with the definitions of a kind. */
export function tagOf(folder: string): string {
  return folder.replace(/^./, (letter) => letter.toUpperCase())
}

/** The parts of the API, in the order of the document. */
export function tagsOf(kinds: readonly KindForm[]): Tag[] {
  return [
    { name: 'Saved endpoints', description: 'The endpoints that this token can call.' },
    { name: 'Calling endpoints', description: 'Call any endpoint by its id or name.' },
    { name: 'Sending logs', description: 'Send entries as JSON or with OpenTelemetry.' },
    ...kinds.map(({ folder, docs }) => ({ name: tagOf(folder), description: docs.about })),
    { name: 'Projects', description: 'Their plans, their usage, and the erasure of their entries.' },
    { name: 'Deployments', description: 'Change many definitions in one step.' },
    { name: 'Access tokens', description: 'Who can call endpoints and send entries.' },
    { name: 'Signing in', description: 'Sessions of the console, in a cookie.' },
    { name: 'Backups', description: 'Back up everything that the service stores.' },
    { name: 'Exploring', description: 'Search entries, and try endpoints before you save them.' },
    { name: 'State and description', description: 'State of the service, and this document.' },
    { name: 'Console', description: 'The web console.' },
  ]
}
