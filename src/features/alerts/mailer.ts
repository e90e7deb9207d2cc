import type { NodemailerError } from 'nodemailer/lib/errors'
import { mailServerOf, senderOf } from './mail-server.ts'
import { maxResponseLength } from './target.ts'

export const noMailServer = 'Email needs the settings WELLHEAD_SMTP_URL and WELLHEAD_SMTP_FROM.'

export type Mailer = NonNullable<ReturnType<typeof mailerOf>>

const silentForMs = 10_000

interface Email {
  /** Part of the Message-ID, by which mailboxes recognize a repeated delivery. */
  id: string
  atMs: number
  to: string
  subject: string
  text: string
}

/** Sends email, each over a connection of its own. Undefined without a mail server. */
export function mailerOf(url: string | undefined, sender: string | undefined) {
  const server = mailServerOf(url ?? '')
  const from = senderOf(sender ?? '')
  if (!server || !from) return undefined
  return {
    /** Returns the server's reply to the message. Throws if it did not come that far. */
    async send(
      { id, atMs, ...email }: Email,
      signal: AbortSignal,
    ): Promise<{ status: number; text: string }> {
      const { SmtpConnection, MailComposer } = await libraries()
      const content = {
        ...email,
        from,
        messageId: `<${id}@${from.address.split('@')[1]}>`,
        date: new Date(atMs),
        headers: { 'Auto-Submitted': 'auto-generated' },
        disableFileAccess: true,
        disableUrlAccess: true,
      }
      const message = await new MailComposer(content).compile().build()
      signal.throwIfAborted()
      const connection = new SmtpConnection({
        host: server.host,
        port: server.port,
        secure: server.tls === 'implicit',
        requireTLS: server.tls === 'required',
        ignoreTLS: server.tls === 'off',
        // Also ends a connection whose server does not respond to QUIT.
        socketTimeout: silentForMs,
      })
      return new Promise((resolve, reject) => {
        const close = () => connection.close()
        const end = (error: MailError) => {
          const reply = error.responseCode && { status: error.responseCode, text: startOf(error.response) }
          if (reply && (error.code === 'EENVELOPE' || error.code === 'EMESSAGE')) resolve(reply)
          else reject(new Error(reasonOf(error)))
          close()
        }
        const deliver = () =>
          connection.send({ from: from.address, to: email.to }, message, (error, info) => {
            if (error) return end(error)
            const text = startOf(info?.response)
            resolve({ status: Number.parseInt(text, 10) || 250, text })
            connection.quit()
          })
        signal.addEventListener('abort', close, { once: true })
        connection.on('end', () => {
          signal.removeEventListener('abort', close)
          reject(new Error('The mail server closed the connection.'))
        })
        // Also after the end: an error without a listener would end the process.
        connection.on('error', end)
        connection.connect((error) => {
          if (error) return end(error)
          if (!server.auth) return deliver()
          connection.login({ ...server.auth }, (refused) => (refused ? end(refused) : deliver()))
        })
      })
    },
  }
}

type MailError = Pick<NodemailerError, 'code' | 'message' | 'response' | 'responseCode'>

const startOf = (reply = '') => reply.slice(0, maxResponseLength)

/** Without what the server replied to a password, which could contain it. */
function reasonOf({ code, message, responseCode }: MailError): string {
  if (code !== 'EAUTH') return `The mail server cannot be used: ${message}`
  return `The mail server refused the user or password${responseCode ? ` with ${responseCode}` : ''}.`
}

/** Loaded for the first email. */
async function libraries() {
  const [connection, composer] = await Promise.all([
    import('nodemailer/lib/smtp-connection'),
    import('nodemailer/lib/mail-composer'),
  ])
  return { SmtpConnection: connection.default, MailComposer: composer.default }
}
