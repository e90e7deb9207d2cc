import type { SourcePath } from '../api/shapes.ts'

const maxProposed = 3
/** The service finds these by itself. */
const known = ['project', 'project_ref']
const owner = 'customer|tenant|org(?:anization|anisation)?|account|project|workspace|team|company|shop|client'
const name = new RegExp(`(?:^|[._])(?:${owner})(?:[._]?(?:id|ref|slug|key|name))?$`, 'i')

/** Paths that look like what entries belong to, the most frequent first. Rare ones would leave most entries to nobody. */
export function proposedProjects(paths: readonly SourcePath[]): SourcePath[] {
  return paths
    .filter(
      ({ path, entries, sampled, examples }) =>
        name.test(path.replaceAll('%2E', '.').replace(/([a-z])([A-Z])/g, '$1_$2')) &&
        !known.includes(path) &&
        entries * 2 >= sampled &&
        examples.some((example) => /^[^\s[{]+$/.test(example)),
    )
    .toSorted((one, other) => other.entries - one.entries)
    .slice(0, maxProposed)
}
