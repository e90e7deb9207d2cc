import { z } from 'zod'
import type { SettingRows } from '../../core/base/settings.ts'
import { mailServerOf, senderOf } from './mail-server.ts'

export const alertSettings = {
  alertHosts: {
    schema: z
      .stringFormat('hosts', /^(?:\s*(?:(?:\*\.)?[\w.-]+|\[[\da-fA-F:.]+\])(?::\d+)?\s*(?:,|$))+$/)
      .transform((value) =>
        value
          .toLowerCase()
          .split(',')
          .map((host) => host.trim()),
      ),
    expected: 'a comma-separated list of hosts such as hooks.internal, 10.0.0.5:8080 or *.example.com',
    description:
      'Hosts that alerts may notify although their addresses are not public. Default: public addresses only.',
  },
  alertKey: {
    schema: z.string().min(32),
    expected: 'at least 32 characters',
    description:
      'Key of the secrets of webhooks. Services that share a ClickHouse server need the same one. Default: created and stored in <data>/alert-key.',
    secret: true,
  },
  smtpUrl: {
    schema: z.string().refine((text) => mailServerOf(text) !== undefined),
    expected:
      'smtps://user:password@host, smtp://user:password@host for STARTTLS, or smtp://host?tls=off without a password',
    description: 'Mail server that sends the email of alerts. Default: alerts cannot send email.',
    secret: true,
    needs: ['smtpFrom'],
  },
  smtpFrom: {
    schema: z.string().refine((text) => senderOf(text) !== undefined),
    expected: 'an address such as alerts@example.com or Wellhead <alerts@example.com>',
    description: 'Sender of the email of alerts.',
    needs: ['smtpUrl'],
  },
} satisfies SettingRows
