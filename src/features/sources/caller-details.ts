import { z } from 'zod'
import type { CallerDetails } from '../../core/http/routes/access/whoami.ts'
import type { SourceInfo } from './source-info.ts'

export function sourceDetails(sources: SourceInfo): CallerDetails {
  return {
    shape: {
      ingest_sources: z.array(z.string()).describe('Sources that the token can send entries to.'),
    },
    of: (caller) => ({ ingest_sources: sources.sentTo().filter((name) => caller.mayIngest(name)) }),
  }
}
