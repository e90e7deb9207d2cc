import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { httpDates } from '../base/http-date.ts'
import type { HotAnswer, HotCalls, KnownCall } from './hot-calls.ts'
import type { UnreadAnswers } from './unread-answers.ts'
import type { UsualHeaders } from './usual-headers.ts'

type DataListener = (chunk: Buffer) => void

export type HotAnswers = Pick<HotCalls, 'answer' | 'onClear'>

/** A request as it came over the connection, and what it asks for. */
interface KnownHead {
  url: string
  headers: UsualHeaders
  call: KnownCall
}

/** Where a connection is, as long as everything that came on it was whole requests without a body, one at a time. */
interface State {
  /** The first request is always Node's, which gives a connection only so long for it. */
  phase: 'new' | 'asked' | 'between'
  /** The request that came last, and the answer to it. */
  head: string
  response: ServerResponse | undefined
}

/** So many requests are known by heart, and none that is longer; and so many were seen once. */
const bounds = { heads: 5_000, headLength: 2_048, seen: 20_000 } as const

/**
 * Most of what a cached call costs is reading HTTP and making objects of it. But callers that keep a connection send the
 * same bytes again and again: a request that is, byte for byte, one that was read and answered from the cache before, is
 * answered without reading it. Everything else is left to Node, and so is a connection from the first moment on in which
 * it is not certain that its next bytes begin a request.
 */
export class HotConnections {
  readonly #hot: HotAnswers
  readonly #unread: UnreadAnswers
  readonly #ending: string
  readonly #heads = new Map<string, KnownHead>()
  /** By a number made of them: heads that have something of their own in them never come again. */
  readonly #seen = new Set<number>()
  readonly #states = new Map<Socket, State>()
  readonly #texts = new WeakMap<readonly string[], string>()
  readonly #date = httpDates()

  constructor(hot: HotAnswers, unread: UnreadAnswers, keepAliveMs: number) {
    this.#hot = hot
    this.#unread = unread
    this.#ending = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n\r\n`
    hot.onClear(() => this.forget())
  }

  /** What was learned holds tokens; it is not kept for those that may be gone. */
  forget(): void {
    this.#heads.clear()
  }

  watch(server: Server): void {
    server.on('connection', (socket) => this.#take(socket))
    server.on('request', (request, response) => {
      const state = this.#states.get(request.socket)
      if (state) state.response = response
    })
  }

  /** Remembers the bytes of a request that was answered by itself, when they came before. */
  learn(request: IncomingMessage, response: ServerResponse, headers: UsualHeaders, call: KnownCall): void {
    const head = this.#states.get(request.socket)?.head ?? ''
    const isAgain = request.httpVersion === '1.1' && response.shouldKeepAlive
    const isOneOfMany = headers.requestId === undefined && headers.traceparent === undefined
    if (head === '' || !isAgain || !isOneOfMany || !this.#wasSeen(head)) return
    this.#heads.set(head, { url: request.url ?? '', headers, call })
    const [oldest] = this.#heads.keys()
    if (this.#heads.size > bounds.heads && oldest !== undefined) this.#heads.delete(oldest)
  }

  #wasSeen(head: string): boolean {
    const number = hashOf(head)
    if (this.#seen.has(number)) return true
    if (this.#seen.size >= bounds.seen) this.#seen.clear()
    this.#seen.add(number)
    return false
  }

  /** Goes between the connection and Node's reader of it. */
  #take(socket: Socket): void {
    const readers = socket.listeners('data') as DataListener[]
    const [read] = readers
    if (readers.length !== 1 || read === undefined) return
    const state: State = { phase: 'new', head: '', response: undefined }
    const look: DataListener = (chunk) => {
      if (state.phase === 'asked' && isOver(state.response)) state.phase = 'between'
      state.response = undefined
      const text = state.phase === 'asked' || chunk.length > bounds.headLength ? '' : chunk.toString('latin1')
      if (state.phase === 'between' && this.#answered(socket, text)) return
      state.phase = 'asked'
      state.head = text
      if (!isWholeGet(text)) {
        this.#states.delete(socket)
        socket.removeListener('data', look)
        socket.on('data', read)
      }
      read.call(socket, chunk)
    }
    this.#states.set(socket, state)
    socket.once('close', () => this.#states.delete(socket))
    socket.removeListener('data', read)
    socket.on('data', look)
  }

  #answered(socket: Socket, text: string): boolean {
    const known = this.#heads.get(text)
    // Whoever does not read what was asked for gets Node's patience.
    if (known === undefined || socket.writableLength > 0 || !socket.writable) return false
    const answer = this.#hot.answer(known.call, known.url, known.headers)
    if (answer === undefined) return false
    this.#write(socket, answer)
    answer.sent()
    return true
  }

  #write(socket: Socket, { status, varying, others, body }: HotAnswer): void {
    let same = this.#texts.get(others)
    if (same === undefined) {
      same = linesOf(others)
      this.#texts.set(others, same)
    }
    const opening = `HTTP/1.1 ${status === 200 ? '200 OK' : '304 Not Modified'}\r\n`
    const head = `${opening}${linesOf(varying)}${same}Date: ${this.#date()}\r\n${this.#ending}`
    if (body === undefined) socket.write(head, 'latin1')
    // In latin1 every byte is a character.
    else if (body.length <= maxBytesOfOneWrite) socket.write(head + body.toString('latin1'), 'latin1')
    else {
      socket.cork()
      socket.write(head, 'latin1')
      socket.write(body, this.#onTaken(socket, body))
      socket.uncork()
    }
  }

  #onTaken(socket: Socket, body: Buffer): () => void {
    const taken: (() => void)[] = []
    this.#unread.add(body, {
      once: (_event, listener) => taken.push(listener),
      destroy: () => socket.destroy(),
    })
    return () => {
      for (const listener of taken) listener()
    }
  }
}

/** For more than that, copying the bytes costs what it saves. */
const maxBytesOfOneWrite = 4096

function linesOf(headers: readonly string[]): string {
  let lines = ''
  for (let i = 0; i < headers.length; i += 2) lines += `${headers[i]}: ${headers[i + 1]}\r\n`
  return lines
}

/** Whether an answer was given, and Node is done with it: only then has it closed what was to be closed. */
function isOver(response: ServerResponse | undefined): boolean {
  return response?.writableFinished === true && response.socket === null
}

/** Whether this is all of a request with GET, and of a second one nothing, however leniently it is read. */
function isWholeGet(text: string): boolean {
  return (
    text.startsWith('GET ') &&
    text.indexOf('\r\n\r\n') === text.length - 4 &&
    !/\r(?!\n)|(?<!\r)\n/.test(text) &&
    !/\n(?:content-length|transfer-encoding|upgrade|expect)[ \t]*:/i.test(text)
  )
}

/** FNV-1a: two heads with the same number only mean that one of them is learned a request earlier. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}
