import type { FastifyInstance } from 'fastify'
import { onFirstUse } from '../../core/base/on-first-use.ts'
import { packageFile } from '../../core/base/package-file.ts'
import type { Core } from '../../core.ts'
import { addDocsRoutes } from './docs-routes.ts'
import { addConsoleRoutes, readConsoleFiles, withBrand } from './routes.ts'
import { consoleSettings } from './settings.ts'

/** Read once for all services of a process. */
const builtFiles = onFirstUse(() => readConsoleFiles(packageFile('dist/console')))

export type OpenConsole = Awaited<ReturnType<typeof openConsole>>

export async function openConsole({ settingsOf, endpoints, hooks, features }: Core) {
  const settings = settingsOf(consoleSettings)
  const { signsPeopleIn } = hooks
  const files = withBrand(builtFiles(), { ...settings, signsPeopleIn, features })
  return {
    routes(server: FastifyInstance) {
      addDocsRoutes(server, { endpoints, brandName: settings.brandName })
      addConsoleRoutes(server, { console: files, embedOrigins: settings.embedOrigins })
    },
  }
}
