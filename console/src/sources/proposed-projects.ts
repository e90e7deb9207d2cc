import { isOwnerPath } from '../../../src/shared/owner-paths.ts'
import type { SourcePath } from '../api/shapes.ts'

const maxProposed = 3
/** The service finds these by itself. */
const known = ['project', 'project_ref']

/** Paths that look like what entries belong to, the most frequent first. Rare ones would leave most entries to nobody. */
export function proposedProjects(paths: readonly SourcePath[]): SourcePath[] {
  return paths
    .filter(
      ({ path, entries, sampled, examples }) =>
        isOwnerPath(path) &&
        !known.includes(path) &&
        entries * 2 >= sampled &&
        examples.some((example) => /^[^\s[{]+$/.test(example)),
    )
    .toSorted((one, other) => other.entries - one.entries)
    .slice(0, maxProposed)
}
