import type { KindForm } from '../../definitions/kind.ts'

/** A part of the API. */
export interface Tag {
  name: string
  description: string
}

/** A part of the API that a feature adds. */
export interface FeatureTag extends Tag {
  /** The part before it in the document. Empty: the last kind of definitions. */
  after: string
}

/** The part of the API with the definitions of a kind. */
export function tagOf(folder: string): string {
  return folder.replace(/^./, (letter) => letter.toUpperCase())
}

/** The parts of the API, in the order of the document. */
export function tagsOf(kinds: readonly KindForm[], ofFeatures: readonly FeatureTag[]): Tag[] {
  const added = (after: string): Tag[] =>
    ofFeatures.filter((tag) => tag.after === after).map(({ name, description }) => ({ name, description }))
  const own: Tag[] = [
    { name: 'Deployments', description: 'Change many definitions in one step.' },
    { name: 'Access tokens', description: 'Who can call endpoints and send entries.' },
    { name: 'Signing in', description: 'Sessions of the console, in a cookie.' },
    { name: 'Exploring', description: 'Search entries, and try endpoints before you save them.' },
    { name: 'State and description', description: 'State of the service, and this document.' },
  ]
  return [
    { name: 'Saved endpoints', description: 'The endpoints that this token can call.' },
    { name: 'Calling endpoints', description: 'Call any endpoint by its id or name.' },
    { name: 'Sending logs', description: 'Send entries as JSON or with OpenTelemetry.' },
    ...kinds.map(({ folder, docs }) => ({ name: tagOf(folder), description: docs.about })),
    ...added(''),
    ...own.flatMap((tag) => [tag, ...added(tag.name)]),
  ]
}
