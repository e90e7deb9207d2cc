import type { FastifyInstance } from 'fastify'
import type { Core } from '../../core.ts'
import { bigQueryDetails } from './caller-details.ts'
import { gatewayTokens, urlRewriter } from './rewrite-url.ts'

export type OpenSupabase = Awaited<ReturnType<typeof openSupabase>>

export async function openSupabase(core: Core) {
  const { options, hooks, access, engine, sources, calls, runner } = core
  const tokens = gatewayTokens(options.environment)
  hooks.callerDetails.push(bigQueryDetails(tokens !== undefined))
  if (!tokens) return {}
  hooks.rewriteUrl = urlRewriter(tokens)
  // Loaded only if it is switched on, so that nothing else pays for it.
  const { createGateway } = await import('./gateway.ts')
  let gateway: ReturnType<typeof createGateway> | undefined
  return {
    routes(server: FastifyInstance) {
      gateway = createGateway({ server, access, tokens, engine, sources, calls, runner })
    },
    async start() {
      await gateway?.open()
    },
  }
}
