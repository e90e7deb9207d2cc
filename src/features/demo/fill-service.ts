import { ServiceClient } from '../../cli/kit/service-client.ts'
import type { FillService } from '../../feature.ts'
import { runDemo } from './run-demo.ts'
import { projects } from './world.ts'

const historyMs = 7 * 86_400_000

/** Sends sample traffic until the service stops. */
export const fillService: FillService = async ({ url, token, shownToken, io, countUsageAt }) => {
  const project = projects[0]?.ref
  const call = (path: string) => `  curl -H "X-API-KEY: ${shownToken}" '${url}/api/endpoints/query/${path}'\n`
  const onFilled = (entries: number) =>
    void io.stderr.write(
      `Sent ${entries} sample entries of the last seven days; more follow every second. Try it:\n` +
        call(`usage.api-counts?project=${project}&interval=daily`) +
        call(`functions.invocation-stats?project=${project}&interval=1hr`) +
        call(`logs.all?project=${project}&project_tier=PRO`) +
        '\n',
    )
  const { clock, signal } = io
  const client = new ServiceClient({ url, token }, io)
  await runDemo({ client, now: clock.now, signal, historyMs, countUsageAt, onFilled })
}
