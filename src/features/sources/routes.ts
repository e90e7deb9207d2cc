import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../core/access/caller.ts'
import { json, routesOf } from '../../core/http/routes/route.ts'
import { appliedRule, appliedRules, sourceName } from '../../core/http/routes/source-shapes.ts'
import type { SourceRules } from '../../core/intake/rules/source-rules.ts'
import { sourcePathShape } from '../../core/search/seen-paths.ts'
import type { SourceInfo } from './source-info.ts'

/** Names in the OpenAPI document. */
const components = {
  output: {
    SourcePath: sourcePathShape,
    AppliedRule: appliedRule,
  },
}

export function addSourceRoutes(
  server: FastifyInstance,
  { sources, rules }: { sources: SourceInfo; rules: SourceRules },
) {
  server.components.add(components)
  const route = routesOf(server, { tag: 'Sources', access: 'read' })
  const params = sourceName
  route('GET /api/sources/:name/schema', 'getSourceSchema', 'Show the metadata paths of a source', {
    description:
      'Samples the newest entries, up to 8 MB of them. `paths` says how many paths they have; at most 1,000 are listed.',
    params,
    responses: {
      200: json('The most frequent paths, and those of typed columns.', z.array(sourcePathShape)),
    },
    errors: [504],
    handler: ({ params, caller }) => sources.schema(params.name, caller as Caller),
  })
  route('GET /api/sources/:name/rules', 'listSourceRules', 'Show the rules of a source', {
    description:
      'Counts since the service started or the rules changed. Each of several services has its own.',
    params,
    responses: { 200: json('In the order in which they are applied.', appliedRules) },
    handler: async ({ params, caller }) => rules.list(sources.get(params.name, caller as Caller)),
  })
}
