import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { HotAnswer, HotCalls, KnownCall } from './hot-calls.ts'
import type { UnreadAnswers } from './unread-answers.ts'
import { type UsualHeaders, usualHeaders } from './usual-headers.ts'

/** Told of every call that the lane answered. */
export type OnAnswered = (
  request: IncomingMessage,
  response: ServerResponse,
  headers: UsualHeaders,
  call: KnownCall,
) => void

/** Answers requests for hot calls before they reach the framework. */
export function hotLane(
  hot: HotCalls,
  unread: UnreadAnswers,
  usual: RequestListener,
  onAnswered: OnAnswered,
): RequestListener {
  const answered = (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.method !== 'GET' || hot.areNone) return false
    const headers = usualHeaders(request.rawHeaders)
    const call = headers && hot.find(request.url, headers)
    const answer = call && hot.answer(call, request.url, headers)
    if (!answer) return false
    write(response, answer, unread)
    answer.sent()
    onAnswered(request, response, headers, call)
    return true
  }
  return (request, response) => {
    if (!answered(request, response)) usual(request, response)
  }
}

function write(response: ServerResponse, answer: HotAnswer, unread: UnreadAnswers): void {
  const { status, varying, others, body } = answer
  response.writeHead(status, [...varying, ...others])
  if (body) unread.add(body, response)
  response.end(body)
}
