import type { SavedEndpoint } from '../endpoints/manage/endpoints.ts'
import { builtInNames } from './tool.ts'

const maxLength = 128

/**
 * The endpoints by the names of their tools, in order of the names. A tool has the name of its endpoint, with `_` in place of
 * other characters than letters, digits, `_` and `-`. If two have the same name, the older endpoint keeps it, so that a
 * tool does not change its meaning when an endpoint is created. The others get the beginning of their id as well.
 */
export function toolNames(endpoints: readonly SavedEndpoint[]): Map<string, SavedEndpoint> {
  const named = new Map<string, SavedEndpoint>()
  const taken = new Set<string>(builtInNames)
  for (const endpoint of endpoints.toSorted(byAge)) {
    const { name, id } = endpoint.definition
    const plain = name.replace(/[^A-Za-z0-9_-]/g, '_')
    const isFree = !taken.has(plain)
    const [free = id] = isFree
      ? [plain]
      : [8, id.length].map((length) => withEnd(plain, id.slice(0, length))).filter((one) => !taken.has(one))
    taken.add(free)
    named.set(free, endpoint)
  }
  return new Map([...named].sort(([one], [other]) => (one < other ? -1 : 1)))
}

function withEnd(name: string, end: string): string {
  return `${name.slice(0, maxLength - end.length - 1)}_${end}`
}

function byAge(one: SavedEndpoint, other: SavedEndpoint): number {
  const age = ({ createdAt, definition }: SavedEndpoint) => `${createdAt} ${definition.id}`
  return age(one) < age(other) ? -1 : 1
}
