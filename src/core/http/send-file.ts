import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Compression, compressed } from '../base/compressed.ts'
import { contentTag } from '../base/text/content-tag.ts'
import { chooseCoding, matchedEtag } from './send-result.ts'

export interface ServedFile {
  readonly contentType: string
  readonly etag: string
  /** By content coding. `identity` always exists. */
  readonly forms: { readonly identity: Buffer } & { readonly [coding in Compression]?: Buffer | undefined }
}

export function fileOf(contentType: string, forms: ServedFile['forms']): ServedFile {
  return { contentType, forms, etag: `"${contentTag(forms.identity)}"` }
}

export async function compressedFile(contentType: string, text: string): Promise<ServedFile> {
  const identity = Buffer.from(text)
  const [gzip, br] = await Promise.all([compressed('gzip', identity), compressed('br', identity)])
  return fileOf(contentType, { identity, gzip, br })
}

export function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { contentType, etag, forms }: ServedFile,
): FastifyReply {
  const vary = reply.getHeader('Vary')
  reply.header('Vary', vary === undefined ? 'Accept-Encoding' : `Accept-Encoding, ${vary}`)
  const coding = chooseCoding(request.headers['accept-encoding'])
  const body = forms[coding]
  // A strong tag differs between codings.
  const tags = [etag, ...Object.keys(forms).map((each) => tagOf(etag, each))]
  const held = matchedEtag(request.headers['if-none-match'], tags)
  reply.header('ETag', held ?? (body && coding !== 'identity' ? tagOf(etag, coding) : etag))
  if (held !== undefined) return reply.code(304).send()
  if (body && coding !== 'identity') reply.header('Content-Encoding', coding)
  return reply.type(contentType).send(body ?? forms.identity)
}

function tagOf(etag: string, coding: string): string {
  return `${etag.slice(0, -1)}-${coding}"`
}
