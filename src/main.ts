#!/usr/bin/env node
/** The process edge: the only place that knows arguments, environment, signals and exit codes. */
import { type Service, startService } from './app.ts'
import { systemClock } from './base/clock.ts'
import { createLog } from './base/log.ts'
import type { Settings } from './base/settings.ts'
import { version } from './base/version.ts'
import { demoProjects, runDemo } from './cli/demo-traffic.ts'
import { generalHelp, serveHelp } from './cli/help.ts'
import { readServeArguments } from './cli/serve.ts'
import { explainStartProblem } from './cli/start-problems.ts'

const exitCodes = { done: 0, failed: 1, usage: 2 } as const

async function main([command, ...rest]: string[]): Promise<void> {
  switch (command) {
    case 'serve':
      return serve(rest)
    case undefined:
    case 'help':
    case '--help':
    case '-h':
      process.stdout.write(rest[0] === 'serve' ? serveHelp() : generalHelp)
      return
    case '--version':
    case '-v':
      process.stdout.write(`${version}\n`)
      return
    default:
      process.stderr.write(`wellhead: "${command}" is no command. wellhead --help lists them.\n`)
      process.exitCode = exitCodes.usage
  }
}

async function serve(args: string[]): Promise<void> {
  const read = readServeArguments(args, process.env)
  switch (read.kind) {
    case 'help':
      process.stdout.write(serveHelp())
      return
    case 'problems':
      for (const problem of read.problems) process.stderr.write(`wellhead: ${problem}\n`)
      process.exitCode = exitCodes.usage
      return
    case 'serve':
      return run(read.settings, read.demo)
  }
}

async function run(settings: Settings, demo: boolean): Promise<void> {
  const log = createLog(settings.logLevel)
  let service: Service | undefined
  const stopDemo = new AbortController()
  let stopAsked = false
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopAsked) process.exit(exitCodes.failed)
    stopAsked = true
    log.info({ signal }, 'stopping')
    stopDemo.abort()
    if (service) void stop(service)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  try {
    service = await startService({
      settings,
      clock: systemClock,
      log,
      node: process.execPath,
      environment: process.env,
    })
  } catch (error) {
    const explained = explainStartProblem(error, settings)
    if (explained === undefined) log.fatal({ err: error }, 'the service cannot start')
    process.stderr.write(`wellhead: ${explained ?? `cannot start: ${(error as Error).message}`}\n`)
    process.exit(exitCodes.failed)
  }
  if (stopAsked) return stop(service)
  greet(service, settings)
  if (demo) void fillDemo(service, settings, stopDemo.signal)
}

async function fillDemo(service: Service, settings: Settings, signal: AbortSignal): Promise<void> {
  const { url, adminToken } = service
  const onFilled = (entries: number) =>
    process.stderr.write(
      `Sample traffic: ${entries} entries of the last seven days, and more each second. Try it:\n` +
        `  curl -H "X-API-KEY: $(cat ${settings.dataDir}/admin-token)" '${url}/api/endpoints/query/usage.api-counts?project=${demoProjects[0]}&interval=daily'\n\n`,
    )
  await runDemo({ url, token: adminToken.token, now: systemClock.now, signal, onFilled }).catch(
    (error: Error) => {
      if (!signal.aborted) process.stderr.write(`wellhead: ${error.message}\n`)
    },
  )
}

async function stop(service: Service): Promise<void> {
  await service.stop()
  process.exit(exitCodes.done)
}

function greet(service: Service, settings: Settings): void {
  const lines = [`Wellhead ${version} serves ${service.url}`]
  if (service.adminToken.made) {
    lines.push(
      '',
      `  Admin token (shown this once, kept in ${settings.dataDir}/admin-token):`,
      `  ${service.adminToken.token}`,
      '',
      '  Try it:',
      `  curl -H 'X-API-KEY: ${service.adminToken.token}' '${service.url}/api/endpoints/query/logs.all?project=demo'`,
    )
  }
  process.stderr.write(`${lines.join('\n')}\n\n`)
}

await main(process.argv.slice(2))
