/** Mails through a server of the operator: encrypted or not sent, each to one address, and nothing
 *  in a name adds a header. */
import { createServer } from 'node:net'
import t from 'tap'
import { sendMail } from '../../../engine/egress/operator-mail.ts'
import type { Mail, MailServer } from '../../../engine/plugin.ts'
import { certificateOf } from '../../helpers/gateway/certificate.ts'
import { startMailServer } from '../../helpers/money/mail-server.ts'

const MAIL: Mail = {
  messageId: '<msg_1@a.example>',
  from: { name: 'Ops', address: 'from@a.example' },
  to: { name: '', address: 'to@a.example' },
  subject: 'Hello',
  text: 'One line.\n.\nÜber.',
  date: new Date(0),
  headers: { 'Auto-Submitted': 'auto-generated' },
}
const LOGIN = { user: 'ops', password: 'right' }
const TIMEOUT = 60_000
const at = ({ port, ca }: { port: number; ca: string }, more: Partial<MailServer> = {}) =>
  ({ host: '127.0.0.1', port, ca, tls: 'starttls', ...more }) as const

t.test('mail: goes over STARTTLS, TLS or plainly, with a login', async t => {
  const kinds = [
    ['starttls', {}, LOGIN, true],
    ['implicit', { secure: true }, LOGIN, true],
    ['off', { disabledCommands: ['STARTTLS', 'AUTH'] }, {}, false],
  ] as const
  for (const [tls, options, login, secure] of kinds) {
    const server = await startMailServer(t, options)
    t.match(await sendMail(at(server, { tls, ...login }), MAIL, TIMEOUT), /^250 /, tls)
    const [mail] = server.mails
    t.match(mail, { from: 'from@a.example', to: ['to@a.example'], secure }, tls)
    t.equal(mail?.user, tls === 'off' ? undefined : 'ops')
    t.match(mail?.text, /^From: Ops <from@a\.example>\r$/m)
    t.match(mail?.text, /^Message-ID: <msg_1@a\.example>\r$/m)
    t.match(mail?.text, /^Auto-Submitted: auto-generated\r$/m)
    t.match(mail?.text, /\r\n\r\nOne line\.\r\n\.\r\n(Über|=C3=9Cber)/)
  }
})

t.test('mail: neither password nor mail goes to a server without trusted TLS', async t => {
  const plain = await startMailServer(t, { disabledCommands: ['STARTTLS'] })
  await t.rejects(sendMail(at(plain, LOGIN), MAIL, TIMEOUT), { code: 'ETLS' })
  const other = { ca: certificateOf(t, 'other').cert }
  const strange = await startMailServer(t)
  await t.rejects(sendMail(at(strange, { ...LOGIN, ...other }), MAIL, TIMEOUT), /self-signed/)
  const implicit = await startMailServer(t, { secure: true })
  const strict = { ...LOGIN, ...other, tls: 'implicit' } as const
  await t.rejects(sendMail(at(implicit, strict), MAIL, TIMEOUT), /self-signed/)
  for (const { logins, mails } of [plain, strange, implicit]) t.same([logins, mails], [[], []])
})

t.test('mail: a refusal has the code and the words of the server', async t => {
  const server = await startMailServer(t)
  const wrong = { user: 'ops', password: 'wrong' }
  const refused = (login: object) => sendMail(at(server, login), MAIL, TIMEOUT).catch(e => e)
  t.match(await refused(wrong), { responseCode: 535 })
  for (const [stage, responseCode] of [
    ['login', 535],
    ['recipient', 550],
    ['mail', 451],
  ] as const) {
    server.refuses = stage
    t.match(await refused(LOGIN), { responseCode, message: `no ${stage} for you` })
  }
  t.same(server.mails, [])
})

t.test('mail: a server that is silent or away rejects in time', async t => {
  const sockets = new Set<{ destroy(): void }>()
  const silent = createServer(socket => {
    sockets.add(socket.on('error', () => {}))
  })
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const { port } = silent.address() as { port: number }
  const server = { host: '127.0.0.1', port, tls: 'starttls' } as const
  await t.rejects(sendMail(server, MAIL, 50), { name: 'TimeoutError' })
  await t.rejects(sendMail({ ...server, port: 1 }, MAIL, TIMEOUT), { code: 'ECONNREFUSED' })
})

t.test('mail: nothing in a name, a subject or an address adds a header or a reader', async t => {
  const server = await startMailServer(t)
  const evil = 'x\r\nBcc: evil@a.example\r\n\r\nbody "<evil@a.example>, '
  const name = { name: evil, address: 'from@a.example' }
  await sendMail(at(server), { ...MAIL, from: name, subject: evil }, TIMEOUT)
  const two = { name: '', address: 'to@a.example, evil@a.example' } as const
  const lines = { name: '', address: 'to@a.example>\r\nRCPT TO:<evil@a.example' } as const
  for (const to of [two, lines])
    await sendMail(at(server), { ...MAIL, to }, TIMEOUT).catch(() => {})
  for (const { to, text } of server.mails) {
    t.ok(to.length === 1 && !to.includes('evil@a.example'), String(to))
    t.notMatch(text, /^Bcc:/m)
    const [head = ''] = text.split('\r\n\r\n')
    t.equal(head.match(/^(From|To|Subject):/gm)?.length, 3)
  }
})
