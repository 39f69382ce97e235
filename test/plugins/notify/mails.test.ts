/** Mails to accounts on both engines, with a real mail server: an address is confirmed by its code,
 *  gets one mail for each crossing, a bounded number in a day, and none after it is removed. */
import t from 'tap'
import { sendMail } from '../../../engine/egress/operator-mail.ts'
import { createAccount } from '../../../plugins/credentials/statements.ts'
import { mailQueue } from '../../../plugins/notify/mail-queue.ts'
import { showSettings } from '../../../plugins/notify/settings.ts'
import { mailSettingsOf } from '../../../plugins/webhooks/mail.ts'
import { eventually } from '../../helpers/eventually.ts'
import { call, payerOf } from '../../helpers/money/ledger.ts'
import { startMailServer } from '../../helpers/money/mail-server.ts'
import { openDesk } from '../../helpers/money/webhooks.ts'
import { hostOver } from '../../helpers/store/accounts.ts'
import { ENGINES } from '../../helpers/store/store.ts'

const UNIT = 1_000_000_000n
const MERGE = 601_000
const DAY = 86_400_000
const URL = 'https://127.0.0.1:8443/hook'
const codeIn = (text: string | undefined): string =>
  /^Code: (\w{8})\r$/m.exec(text ?? '')?.[1] ?? ''

for (const engine of ENGINES)
  t.test(`mails on ${engine}: of low balances to confirmed addresses`, async t => {
    const server = await startMailServer(t)
    const desk = await openDesk(t, engine)
    const ledger = await desk.ledger()
    for (const name of ['ann', 'bob', 'cat', 'dan', 'eve'])
      await desk.database.write(createAccount({ name, role: 'customer' }, Date.now()))
    await t.rejects(desk.save(1, { mail: 'ann@a.example' }), { code: 'MAIL_OFF', status: 409 })
    desk.mail = {
      host: '127.0.0.1',
      port: server.port,
      ca: server.ca,
      from: 'gateway@a.example',
      name: 'Example AI',
    }
    const section = <T>(name: string) => (name === 'mail' ? desk.mail : {}) as T
    const mail = mailSettingsOf({ section })
    if (!mail) throw new Error('the section is there')
    desk.start({ queue: mailQueue({ mail: sendMail, section }, mail) })
    let calls = 0
    const spend = async (account: number, amount: bigint): Promise<void> => {
      const metered = await call(desk, ledger, `m${engine}${++calls}`, payerOf(account), amount)
      await metered.settle?.(amount)
    }
    const settingsOf = (account: number) =>
      showSettings({ ...hostOver(desk.database), section }, account)
    const pending = async (account: number) =>
      (await desk.rows(`SELECT id FROM account_mails WHERE account = ${account}`)).length
    /** The number of webhook events so far: the sender of the desk creates them, too. */
    const events = async () => (await desk.rows('SELECT id FROM webhook_events')).length
    /** The number of mails of the test so far. */
    let count = 0
    const nextMail = async () => {
      await server.until(++count)
      return server.mails[count - 1]
    }
    const confirm = async (account: number, mail: string) => {
      await desk.save(account, { mail })
      const code = codeIn((await nextMail())?.text)
      await desk.save(account, { mail_code: code })
    }

    t.test('mail address: bad ones are refused', async t => {
      for (const mail of ['', 'ann', 'a@b, c@d', 'a@b\r\nBcc: c@d', 'ü@b', '"a" <a@b>'])
        await t.rejects(desk.save(1, { mail }), { code: 'MAIL_ADDRESS', param: 'mail' }, mail)
      await t.rejects(desk.save(1, { mail_code: 'ABCDEFGH' }), { code: 'MAIL_CODE' })
      t.match(await settingsOf(1), { can_mail: true, mail: null, mail_confirmed: false, mails: [] })
    })

    t.test('mail address: gets its code, and nothing else before it is confirmed', async t => {
      await desk.credit(1, 10n * UNIT)
      await desk.save(1, { mail: 'ann@a.example', threshold: 5 })
      const mail = await nextMail()
      t.same(mail?.to, ['ann@a.example'])
      t.match(mail?.text, /^Subject: Example AI: confirm this address\r$/m)
      t.match(mail?.text, /The account ann of Example AI asks/)
      await spend(1, 6n * UNIT)
      await desk.move()
      t.equal(await pending(1), 1, 'no mail about the balance')
      await t.rejects(desk.save(1, { mail_code: 'WRONGONE' }), { code: 'MAIL_CODE' })
      t.match(await settingsOf(1), { mail: 'ann@a.example', mail_confirmed: false })
    })

    t.test('mail address: a confirmed one hears of a low balance, once a crossing', async t => {
      const code = codeIn(server.mails[0]?.text)
      await desk.save(1, { mail_code: ` ${code.toLowerCase()} ` })
      const mail = await nextMail()
      t.match(mail?.text, /^Subject: Example AI: the balance of ann is 4 CNY\r$/m)
      t.match(mail?.text, /fell below 5 CNY/)
      t.match(mail?.text, /To stop these mails, remove the address/)
      await t.rejects(desk.save(1, { mail_code: code }), { code: 'MAIL_CODE' }, 'a used code')
      desk.ahead += MERGE
      for (const change of [{ threshold: 5 }, { threshold: 6 }, { mail: 'ann@a.example' }])
        await desk.save(1, change)
      await spend(1, UNIT)
      await desk.move()
      t.equal(await pending(1), 2, 'the same crossing')
      await desk.credit(1, 10n * UNIT)
      await spend(1, 9n * UNIT)
      t.match((await nextMail())?.text, /It was 4 CNY/)
      const { mails, mail_confirmed } = await eventually(async () => {
        const now = await settingsOf(1)
        return now.mails.every(({ state }) => state === 'delivered') && now
      })
      t.ok(mail_confirmed)
      t.same(
        mails.map(({ attempts, message }) => [attempts, message]),
        Array(3).fill([1, 'Delivered.']),
      )
    })

    t.test('mail address: each receiver hears once of the balance that it finds', async t => {
      desk.ahead += MERGE
      await desk.save(1, { url: URL })
      await eventually(async () => (await events()) === 1, { failure: () => 'no webhook event' })
      t.equal(await pending(1), 3, 'no second mail')
      desk.ahead += MERGE
      await desk.save(2, { url: URL, threshold: 5 })
      await eventually(async () => (await events()) === 2, { failure: () => 'no webhook event' })
      desk.ahead += MERGE
      await confirm(2, 'bob@a.example')
      t.match((await nextMail())?.text, /balance of bob is 0 CNY/)
      await desk.move()
      t.equal(await events(), 2, 'no second event of the webhook')
    })

    t.test('mail address: a removed one gets nothing, also not what waits', async t => {
      await desk.credit(1, 10n * UNIT)
      await server.stop()
      desk.ahead += MERGE
      await spend(1, 10n * UNIT)
      await desk.move()
      t.equal(await pending(1), 4)
      await desk.save(1, { mail: null })
      await server.start()
      desk.ahead += MERGE
      await desk.credit(1, 10n * UNIT)
      await spend(1, 10n * UNIT)
      await desk.move()
      t.match(await settingsOf(1), { mail: null, mails: [{ state: 'failed' }, {}, {}, {}] })
      await confirm(3, 'cat@a.example')
      t.equal(server.mails.length, count, 'the next mail is of another account')
    })

    t.test('mail address: a changed one must be confirmed again', async t => {
      await desk.save(3, { mail: 'cat@b.example', threshold: 1 })
      t.same((await nextMail())?.to, ['cat@b.example'])
      await desk.move()
      t.match(await settingsOf(3), { mail_confirmed: false, mails: [{}, {}] })
      t.equal(await pending(3), 2)
    })

    t.test('codes: few are sent and few are tried', async t => {
      await desk.save(3, { mail: 'cat@a.example' })
      await nextMail()
      await t.rejects(desk.save(3, { mail: 'dan@a.example' }), { code: 'MAIL_LIMIT', status: 429 })
      t.match(await settingsOf(3), { mail: 'cat@a.example' }, 'a refused change changes nothing')
      const last = codeIn(server.mails.at(-1)?.text)
      const tries = Array.from({ length: 8 }, () => desk.save(3, { mail_code: 'WRONGONE' }))
      for (const each of await Promise.allSettled(tries)) t.equal(each.status, 'rejected')
      await t.rejects(desk.save(3, { mail_code: last }), { code: 'MAIL_CODE' }, 'after five')
      for (const account of [4, 5, 2]) {
        await desk.save(account, { mail: 'victim@a.example' })
        await nextMail()
      }
      await t.rejects(desk.save(1, { mail: 'victim@a.example' }), { code: 'MAIL_LIMIT' })
      desk.ahead += DAY
      await t.rejects(
        desk.save(2, { mail_code: codeIn(server.mails.at(-1)?.text) }),
        { code: 'MAIL_CODE' },
        'an old code',
      )
      await desk.save(3, { mail: 'dan@a.example' })
      await nextMail()
    })

    t.test('mails: an account gets ten in a day', async t => {
      await confirm(4, 'dan@b.example')
      await desk.save(4, { threshold: 1 })
      for (let crossing = 0; crossing < 12; crossing++) {
        desk.ahead += MERGE
        await desk.credit(4, 2n * UNIT)
        await spend(4, 2n * UNIT)
        await desk.move()
      }
      const low = "SELECT id FROM account_mails WHERE account = 4 AND kind = 'low'"
      t.equal((await desk.rows(low)).length, 10)
    })
  })
