/** An SMTP server on loopback: records its mails and answers as a test decides. */
import type { Test } from 'tap'
import { certificateOf } from '../gateway/certificate.ts'

interface ReceivedMail {
  readonly from: string
  /** Every address that the server was told. */
  readonly to: readonly string[]
  /** With its headers, lines unfolded. */
  readonly text: string
  readonly user: string | undefined
  readonly secure: boolean
}
type Options = Readonly<Record<string, unknown>>
type Stage = 'login' | 'recipient' | 'mail'

export interface MailServer {
  readonly port: number
  /** PEM of its certificate. */
  readonly ca: string
  readonly mails: ReceivedMail[]
  /** Logins that were tried, with their passwords. */
  readonly logins: string[]
  /** The stage that it refuses, with 535, 550 or 451; undefined: none. */
  refuses: Stage | undefined
  /** Resolves when so many mails have come. */
  until(count: number): Promise<void>
  /** Resolves when the port is closed; `start` opens the same one. */
  stop(): Promise<void>
  start(): Promise<void>
}
const CODES = { login: 535, recipient: 550, mail: 451 } as const
const refusal = (stage: Stage): Error =>
  Object.assign(new Error(`no ${stage} for you`), { responseCode: CODES[stage] })

/** `options` of smtp-server; a login is `ops` with the password `right`. */
export const startMailServer = async (t: Test, options: Options = {}): Promise<MailServer> => {
  const { SMTPServer } = await import('smtp-server')
  const keys = certificateOf(t, 'mail')
  const [mails, logins]: [ReceivedMail[], string[]] = [[], []]
  const waiting = new Set<() => void>()
  let running: InstanceType<typeof SMTPServer> | undefined
  const server = { port: 0, ca: keys.cert, mails, logins, refuses: undefined as Stage | undefined }
  const open = () =>
    new SMTPServer({
      ...keys,
      authOptional: true,
      disableReverseLookup: true,
      ...options,
      onAuth({ username, password }, _, done) {
        logins.push(`${username} ${password}`)
        const isRight = username === 'ops' && password === 'right' && server.refuses !== 'login'
        done(isRight ? null : refusal('login'), { user: username })
      },
      onRcptTo(_, __, done) {
        done(server.refuses === 'recipient' ? refusal('recipient') : null)
      },
      async onData(stream, { envelope, user, secure }, done) {
        let text = ''
        for await (const part of stream) text += part
        if (server.refuses === 'mail') return done(refusal('mail'))
        mails.push({
          from: envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          text: text.replace(/\r\n(?=[ \t])/g, ''),
          user,
          secure,
        })
        done(null)
        for (const look of waiting) look()
      },
    })
  const start = async () => {
    const next = open()
    next.on('error', () => {})
    await new Promise<void>(resolve => next.listen(server.port, '127.0.0.1', resolve))
    running = next
    server.port = next.server.address().port
  }
  const stop = () =>
    new Promise<void>(resolve => {
      if (running) running.close(resolve)
      else resolve()
      running = undefined
    })
  t.teardown(stop)
  await start()
  const until = (count: number) =>
    new Promise<void>(resolve => {
      const look = () => {
        if (mails.length >= count && (waiting.delete(look) || true)) resolve()
      }
      waiting.add(look)
      look()
    })
  return Object.assign(server, { until, stop, start })
}
