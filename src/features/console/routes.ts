import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { notFound } from '../../core/base/errors.ts'
import { pathOf } from '../../core/http/request-recorder.ts'
import {
  fileResponses,
  knownPageResponses,
  pageResponses,
  routesOf,
  text,
} from '../../core/http/routes/route.ts'
import { pageHeaders } from '../../core/http/security-headers.ts'
import { fileOf, type ServedFile, sendFile } from '../../core/http/send-file.ts'
import { consolePages } from '../../shared/console-pages.ts'

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

/** Allows only files of this service, and no inline scripts or styles. */
const policyFor = (ancestors: string) =>
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  `font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors ${ancestors}`

/** An SVG can have scripts, which must not run even if it is opened as a page. */
const logoHeaders = {
  ...pageHeaders,
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}

const consoleHeaders = { ...pageHeaders, 'Content-Security-Policy': policyFor("'none'") }

/** The address is a secret: no search engine, cache or other page may keep it. */
const sharedHeaders = { ...consoleHeaders, 'X-Robots-Tag': 'noindex', 'Cache-Control': 'no-store' }

export interface ConsoleFiles {
  page?: ServedFile | undefined
  embed?: ServedFile | undefined
  assets: ReadonlyMap<string, ServedFile>
  /** The logo of the service's owner. */
  logo?: ServedFile | undefined
}

interface ConsoleParts {
  console: ConsoleFiles
  /** Origins whose pages can show an endpoint in a frame; `*` allows all. */
  embedOrigins: readonly string[]
}

/** Without a name, it is the first page. */
const pageNames = new Set(['', ...Object.keys(consolePages)])

const options = { logLevel: 'warn' } as const

const params = z.object({ page: z.string().meta({ description: 'Name of the page.', example: 'endpoints' }) })
const resource = z.string().meta({ description: 'Name of the resource.', example: 'logs.all' })
const file = z.string().meta({ description: 'Name of the file.', example: 'index.js' })

/** The web console. It holds no data: it asks for a token and sends it with each request. */
export function addConsoleRoutes(server: FastifyInstance, { console, embedOrigins }: ConsoleParts): void {
  const { page, embed, assets, logo } = console
  const route = routesOf(server, { tag: 'Console', access: 'public' })
  const common = { responses: pageResponses, options }
  const known = { responses: knownPageResponses, options }
  const sendPage = async (
    request: FastifyRequest,
    reply: FastifyReply,
    file = page,
    headers: Record<string, string> = consoleHeaders,
  ) => {
    if (!file) throw notFound(request.method, `${pathOf(request.url)}: the console was not built`)
    return sendFile(request, reply.header('Cache-Control', 'no-cache').headers(headers), file)
  }
  // Frames of other origins show it, so X-Frame-Options, which cannot list origins, is left out.
  const { 'X-Frame-Options': _, ...framed } = pageHeaders
  const embedHeaders = {
    ...framed,
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Content-Security-Policy': policyFor(embedOrigins.join(' ')),
  }
  const first = { ...common, errors: [404], handler: sendPage }
  const inFrame = {
    ...first,
    handler: (request: FastifyRequest, reply: FastifyReply) => sendPage(request, reply, embed, embedHeaders),
  }
  // A browser gets a page that says so, with the way back.
  const sendKnownPage = (request: FastifyRequest<{ Params: { page: string } }>, reply: FastifyReply) =>
    sendPage(request, pageNames.has(request.params.page) ? reply : reply.code(404))
  route('GET /', 'getConsole', 'Open the console', {
    ...first,
    description: 'It asks for a token and shows nothing without one.',
  })
  route('GET /console', 'getConsoleStart', 'Open the first page of the console', first)
  route('GET /console/:page', 'getConsolePage', 'Open a page of the console', {
    ...known,
    params,
    handler: sendKnownPage,
  })
  route('GET /console/:page/:name', 'getConsolePageOf', 'Open the console page of one resource', {
    ...known,
    params: params.extend({ name: resource }),
    handler: sendKnownPage,
  })
  route('GET /docs', 'getDocs', 'Show the documentation as a page', {
    ...first,
    description: 'It shows the OpenAPI document, with a form to try each operation.',
  })
  route('GET /embed/:name', 'getEmbed', 'Open the chart or table of an endpoint, for a frame', {
    ...inFrame,
    description:
      'A page without navigation that follows the result of an endpoint. The query has the parameters of the endpoint, ' +
      'and `_theme` (`light`, `dark`), `_view` (`chart`, `table`) and `_title` (`0` hides it). ' +
      'Pass the token behind `#token=` or with `postMessage`.',
    params: z.object({ name: resource }),
  })
  route('GET /embed/dashboards/:name', 'getEmbeddedDashboard', 'Open a dashboard, for a frame', {
    ...inFrame,
    description:
      'The query has the parameters of the dashboard, and `_theme` and `_title` as for an endpoint. ' +
      'Pass the token behind `#token=` or with `postMessage`.',
    params: z.object({
      name: z.string().meta({ description: 'Name of the dashboard.', example: 'traffic' }),
    }),
  })
  route('GET /shared/:secret', 'getSharedDashboard', 'Open the dashboard of a link', {
    ...common,
    description: 'The page is the same for every link; it asks for a session with its own address.',
    params: z.object({ secret: z.string().meta({ description: 'The secret of the link.', example: 'x' }) }),
    errors: [404],
    handler: async (request, reply) => sendPage(request, reply, embed, sharedHeaders),
  })
  route('GET /console/logo', 'getLogo', 'Get the logo', {
    ...common,
    responses: fileResponses(text('The file in `WELLHEAD_BRAND_LOGO`.', 'image/png', 'image/svg+xml')),
    errors: [404],
    handler: async (request, reply) => {
      if (!logo) throw notFound(request.method, pathOf(request.url))
      return sendFile(request, reply.headers(logoHeaders).header('Cache-Control', 'no-cache'), logo)
    },
  })
  route('GET /console/assets/:file', 'getConsoleFile', 'Get a script or style of the console', {
    ...common,
    params: z.object({ file }),
    responses: fileResponses(text('The file.', 'text/javascript', 'text/css')),
    handler: async (request, reply) => {
      const asset = assets.get(request.params.file)
      if (!asset) throw notFound(request.method, pathOf(request.url))
      // File names contain a hash of the content.
      reply.header('Cache-Control', 'public, max-age=31536000, immutable')
      return sendFile(request, reply.headers(pageHeaders), asset)
    },
  })
}

/** What the page shows before anybody is signed in. */
interface Brand {
  brandName: string | undefined
  brandLogo: string | undefined
  brandColor: string | undefined
  signsPeopleIn: boolean
  /** Names of the features of the service. Pages of others are not shown. */
  features: readonly string[]
}

/** The files of the console as they are built. */
export function readConsoleFiles(directory: string): ConsoleFiles {
  const assets = new Map<string, ServedFile>()
  for (const name of namesIn(join(directory, 'assets'))) {
    if (extname(name) in contentTypes) assets.set(name, readFile(join(directory, 'assets', name)))
  }
  const names = namesIn(directory)
  const page = (name: string) => (names.includes(name) ? readFile(join(directory, name)) : undefined)
  return { page: page('index.html'), embed: page('embed.html'), assets }
}

export function withBrand({ page, embed, assets }: ConsoleFiles, brand: Brand): ConsoleFiles {
  const logo = brand.brandLogo === undefined ? undefined : readFile(brand.brandLogo)
  return { page: page && branded(page, brand), embed: embed && branded(embed, brand), assets, logo }
}

/** Passes the brand to the page, so that it is there before anything is shown. */
function branded(file: ServedFile, brand: Brand): ServedFile {
  const { brandName: name, brandLogo, brandColor: color, signsPeopleIn, features } = brand
  const hasBrand = name !== undefined || brandLogo !== undefined || color !== undefined
  const content = encodeURIComponent(JSON.stringify({ name, color, logo: brandLogo !== undefined }))
  const tags =
    `<meta name="features" content="${features.join(' ')}">` +
    (hasBrand ? `<meta name="brand" content="${content}">` : '') +
    (signsPeopleIn ? '<meta name="sign-in" content="issuer">' : '')
  const html = file.forms.identity.toString().replace('</head>', `${tags}</head>`)
  return fileOf(file.contentType, { identity: Buffer.from(html) })
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

function readFile(path: string): ServedFile {
  // Small files are not compressed.
  const form = (suffix: string) => (existsSync(path + suffix) ? readFileSync(path + suffix) : undefined)
  const forms = { identity: readFileSync(path), gzip: form('.gz'), br: form('.br') }
  return fileOf(contentTypes[extname(path)] as string, forms)
}
