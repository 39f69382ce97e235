/** A customer's mail address in a browser, on a whole gateway with a real mail server: saved,
 *  confirmed by its code, told of a low balance, and removed; an operator sets and removes it. */
import t from 'tap'
import { seriousFindings } from '../../helpers/console/accessibility.ts'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import { startConsole } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startMailServer } from '../../helpers/money/mail-server.ts'

const routesOf = (port: number, ca: string): string => `
include: [tollgate:console.yaml]
pipeline: [errors, observe, auth, validate, limit, idempotency, meter, account, console, openapi, notify, alerts]
mail:
  host: 127.0.0.1
  port: ${port}
  ca: ${JSON.stringify(ca)}
  user: ops
  password: \${SMTP_PASSWORD}
  from: gateway@a.example
  name: Example AI
`

t.test('mail address of a customer', { skip: missingBrowser }, async t => {
  const server = await startMailServer(t)
  const [gateway, browser] = await Promise.all([
    startConsole(t, {
      routes: routesOf(server.port, server.ca),
      env: { SMTP_PASSWORD: 'right' },
    }),
    startBrowser(t),
  ])
  const ann = await gateway.customer('ann', 10)
  const authorization = `Bearer ${gateway.token}`
  const admin = (path: string, body?: object) =>
    gateway.ask(body ? 'POST' : 'GET', `/api/admin/${path}`, body, { authorization })
  const debit = (amount: number) => admin('accounts/debit', { account: 'ann', amount, note: 'x' })

  t.test('console: a customer saves an address and confirms it by the code', async t => {
    for (const width of [1440, 390]) {
      const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann, width })
      await open('notifications')
      const card = page.getByRole('region', { name: 'Mail', exact: true })
      await card.getByLabel('Mail address').fill('not an address')
      await card.getByRole('button', { name: 'Save address' }).click()
      await card.locator('.field-error').getByText('one address').waitFor()
      await card.getByLabel('Mail address').fill(`ann-${width}@a.example`)
      await card.getByRole('button', { name: 'Save address' }).click()
      await card.getByLabel('Code').fill('WRONG')
      await card.getByRole('button', { name: 'Confirm address' }).click()
      await card.locator('.field-error').getByText('wrong').waitFor()
      t.same(await seriousFindings(page), [])
      await eventually(() => server.mails.at(-1)?.to[0] === `ann-${width}@a.example`)
      const code = /^Code: (\w+)/m.exec(server.mails.at(-1)?.text ?? '')?.[1] ?? ''
      await card.getByLabel('Code').fill(code)
      await card.getByRole('button', { name: 'Confirm address' }).click()
      await card.getByText('The address is confirmed.').waitFor()
      t.same(faults, [])
    }
  })

  t.test('mails: the low balance comes once, and not after the address is removed', async t => {
    await ann.ask('PUT', '/api/notifications', { threshold: '5' })
    await debit(6)
    await server.until(3)
    t.match(server.mails[2]?.to, ['ann-390@a.example'])
    t.match(server.mails[2]?.text, /the balance of ann is 4 CNY/)
    const { body } = await ann.ask('PUT', '/api/notifications', { mail: null })
    t.match(body.data, { can_mail: true, mail: null, mail_confirmed: false })
    t.match((await admin('webhooks/mails')).body.data, [
      { account: 'ann', address: 'ann-390@a.example', kind: 'low' },
      { kind: 'code' },
      { kind: 'code', address: 'ann-1440@a.example', state: 'delivered', message: 'Delivered.' },
    ])
  })

  t.test('operators: set an address without a code, and remove it', async t => {
    const set = (address: unknown) => admin('webhooks/mail', { account: 'ann', address })
    t.match(await set('a@b\r\nBcc: c@d'), { status: 400 })
    t.match(await set('ops@a.example'), { status: 200, body: { data: { account: 'ann' } } })
    const settings = async () => (await ann.ask('GET', '/api/notifications')).body.data
    t.match(await settings(), { mail: 'ops@a.example', mail_confirmed: true })
    t.match(await set(null), { status: 200 })
    t.match(await settings(), { mail: null, mail_confirmed: false })
    t.equal(server.mails.length, 3)
    t.notMatch(gateway.output(), /right|Code:/)
  })
})
