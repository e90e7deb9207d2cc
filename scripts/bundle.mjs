/** Bundles Wellhead with its dependencies into dist, because Node starts faster with few files; and the client. */
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Of features that a build can lack. */
const rowWorker = join(root, 'src/features/tables/row-worker.ts')
const gateway = join(root, 'src/features/supabase/gateway.ts')

/**
 * Files of the command line, in the order in which modules are assigned to them: what every command loads, clients of a
 * service, their tables, commands that check shapes or use the engine, the service, the Logflare gateway, sign-in, email, and what is left,
 * which only traces need.
 */
const files = [
  'command-line',
  'client',
  'tables',
  'commands',
  'service',
  'logflare',
  'sign-in',
  'email',
  'tracing',
]

/** Returns the modules in the bundles. */
export async function bundle() {
  const alone = { output: { codeSplitting: false } }
  const outputs = [
    await bundleOne({ main: 'src/main.ts' }, fewFiles()),
    await bundleOne({ 'engine-host': 'src/core/engine/embedded/host.ts' }, alone),
    await bundleOne({ decoder: 'src/core/intake/decoder-worker.ts' }, alone),
    ...(existsSync(rowWorker) ? [await bundleOne({ 'row-reader': rowWorker }, alone)] : []),
  ]
  return outputs.flat().flatMap(({ moduleIds }) => moduleIds ?? [])
}

/** The package of the client, for browsers and Node. It has no dependencies; React is the user's. */
export async function bundleClient() {
  await build({
    cwd: join(root, 'client'),
    input: { client: 'client.ts', react: 'react.ts', pino: 'pino.ts' },
    platform: 'neutral',
    external: ['react', /^node:/],
    logLevel: 'warn',
    output: { dir: 'dist', format: 'esm', chunkFileNames: '[name].js', comments: false },
  })
}

/** One file in `build` for each module, for scripts, benchmarks and tests that use parts of the service. */
export async function transpile() {
  const names = readdirSync(join(root, 'src'), { recursive: true })
  const sources = names.filter((name) => /(?<!\.test)\.ts$/.test(name))
  await build({
    cwd: root,
    input: sources.map((name) => `src/${name}`),
    platform: 'node',
    external: /^[^./]/,
    treeshake: false,
    logLevel: 'warn',
    output: {
      dir: 'build',
      format: 'esm',
      preserveModules: true,
      preserveModulesRoot: 'src',
      comments: false,
    },
  })
}

async function bundleOne(input, { plugins, output }) {
  const { output: files } = await build({
    cwd: root,
    input,
    platform: 'node',
    // They load native libraries from their own directories.
    external: ['chdb', 'ffi-rs'],
    // Bundles are modules, which do not have these variables of CommonJS.
    transform: { define: { __filename: 'import.meta.filename', __dirname: 'import.meta.dirname' } },
    logLevel: 'warn',
    plugins,
    output: {
      dir: 'dist',
      format: 'esm',
      chunkFileNames: '[name].js',
      comments: false,
      sourcemap: true,
      sourcemapExcludeSources: true,
      ...output,
    },
  })
  return files
}

/** Assigns each module to one of a few files. Without groups there would be a file for each set of commands that share a module. */
function fewFiles() {
  const fileOf = new Map()
  const plugin = {
    name: 'few-files',
    buildEnd() {
      const closureOf = (starts) => {
        const found = new Set(starts)
        for (const id of found) for (const next of this.getModuleInfo(id)?.importedIds ?? []) found.add(next)
        return found
      }
      const assign = (file, ids) => {
        for (const id of ids) if (!fileOf.has(id)) fileOf.set(id, file)
      }
      const main = join(root, 'src/main.ts')
      const first = closureOf([main])
      // The entry waits for the command, so the files of the command must not wait for the entry.
      assign('main', [main])
      assign('command-line', first)
      const importsOf = (ids) =>
        [...ids].flatMap((id) => this.getModuleInfo(id)?.dynamicallyImportedIds ?? [])
      // Loaded on use, for those who use it.
      const isRare = (id) => /\/(?:supabase\/gateway|statistics\/otel-tracing)\.ts$/.test(id)
      const isOurs = (id) => relative(root, id).startsWith('src/') && !isRare(id)
      const isOfService = (ids) =>
        [...ids].some((id) => /^src\/(?:app|features\/[^/]+\/open)\.ts$/.test(relative(root, id)))
      const isLight = (ids) =>
        ![...ids].some((id) => /\/node_modules\/zod\/|\/src\/core\/engine\/embedded\//.test(id))
      const lightOf = (ids) =>
        importsOf(ids)
          .map((id) => closureOf([id]))
          .filter(isLight)
      for (const ids of lightOf(first)) assign('client', ids)
      for (const ids of lightOf(fileOf.keys())) assign('tables', ids)
      const closures = importsOf(this.getModuleIds())
        .filter(isOurs)
        .map((id) => closureOf([id]))
      for (const ids of closures) if (!isOfService(ids)) assign('commands', ids)
      for (const ids of closures) assign('service', ids)
      if (existsSync(gateway)) assign('logflare', closureOf([gateway]))
      const library = (name) => [...this.getModuleIds()].filter((id) => id.includes(`/node_modules/${name}/`))
      assign('sign-in', closureOf(library('openid-client')))
      assign('email', closureOf(library('nodemailer')))
      assign('tracing', this.getModuleIds())
    },
  }
  const groups = files.map((name, index) => ({
    name,
    test: (id) => fileOf.get(id) === name,
    priority: files.length - index,
  }))
  return { plugins: [plugin], output: { codeSplitting: { groups } } }
}
