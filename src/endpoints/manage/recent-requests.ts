import type { WarmKey } from '../../cache/warm-keys-file.ts'
import { findFormat, outputFormats } from '../call/output-formats.ts'
import { isCurrent, prepareCall, recipeShape } from '../call/prepared-call.ts'
import type { Endpoint } from '../definition/endpoint.ts'

/** A request that callers sent recently. */
export interface RecentRequest {
  parameters: Readonly<Record<string, string>>
  /** The project of a tenant's token. */
  project: string | undefined
  /** The most frequent one. */
  format: string
  uses: number
  lastUsedMs: number
}

/** Of each request, the cache holds at most this many results: one for each format. */
const maxFormats = 10

/** The most frequent requests of this version, or of one with the same results. Requests that differ only in their format are one. */
export function recentRequests(endpoint: Endpoint, keys: readonly WarmKey[], limit: number): RecentRequest[] {
  const requests = new Map<string, RecentRequest>()
  for (const { recipe, uses, lastUsedMs } of keys.toSorted(byUse).slice(0, maxFormats * limit)) {
    const reading = recipeShape.safeParse(recipe)
    if (!reading.success || !isCurrent(reading.data, endpoint)) continue
    const { parameters, project } = reading.data
    const format = findFormat(reading.data.format)?.name
    if (format === undefined) continue
    // The same for requests with the same rows.
    const { key } = prepareCall({ endpoint, parameters, project, format: anyFormat })
    const same = requests.get(key)
    if (same) {
      same.uses += uses
      same.lastUsedMs = Math.max(same.lastUsedMs, lastUsedMs)
    } else {
      requests.set(key, { parameters, project, format, uses, lastUsedMs })
    }
  }
  return [...requests.values()].sort(byUse).slice(0, limit)
}

type Used = Pick<WarmKey, 'uses' | 'lastUsedMs'>

function byUse(one: Used, other: Used): number {
  return other.uses - one.uses || other.lastUsedMs - one.lastUsedMs
}

const [anyFormat] = outputFormats as [(typeof outputFormats)[number]]
