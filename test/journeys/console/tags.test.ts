/** Tags in a browser: an owner gives a member a tag, the member's call has it, and Team, Member and
 *  Usage show what the tag and its models cost. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { seriousFindings } from '../../helpers/console/accessibility.ts'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import { linkIn, startConsole } from '../../helpers/console/console-gateway.ts'
import { scaled } from '../../helpers/machine-speed.ts'

t.setTimeout(scaled(120_000))

const SHIPPED = readFileSync(new URL('../../../routes.yaml', import.meta.url), 'utf8')
const [pipeline = ''] = /^pipeline: .*$/m.exec(SHIPPED) ?? []
const ROUTES = `
include: [tollgate:presets.yaml, tollgate:console.yaml]
${pipeline}
tags: { known: { project: [alpha, beta] } }
upstreams:
  up: { url: 'sandbox:', formats: [openai-chat] }
models:
  near: { to: up/a, price: { calls: 1.00 } }
  far: { to: up/b, price: { calls: 2.00 } }
routes:
  - { path: POST /v1/chat/completions, name: chat, auth: [key, session], model: body, translate: openai-chat, errors: openai }
`

t.test('tags: of a member, of a call, and their sums', { skip: missingBrowser }, async t => {
  const [gateway, browser] = await Promise.all([
    startConsole(t, { routes: ROUTES }),
    startBrowser(t),
  ])
  const account = await gateway.customer('acme', 100)
  const { body } = await account.ask('POST', '/api/members', { name: 'mia', role: 'member' })
  const mia = await gateway.signIn({ link: linkIn(String(body.data.url)) })
  const window = await openWindow(t, browser, gateway, { as: account })
  const { page } = window
  const rowOf = (name: string) =>
    page.getByRole('row').filter({ has: page.getByRole('cell', { name, exact: true }) })
  const call = async (model: string, tags?: string) => {
    const messages = [{ role: 'user', content: 'Hello' }]
    const headers = tags === undefined ? undefined : { 'x-tollgate-tags': tags }
    const client = tags === undefined ? mia : account
    const reply = await client.ask('POST', '/v1/chat/completions', { model, messages }, headers)
    t.equal(reply.status, 200)
  }

  await window.open('team')
  await rowOf('mia').getByRole('button', { name: 'Edit' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Tags').fill('no tag')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').first().waitFor()
  t.match(await dialog.getByRole('alert').first().textContent(), /tag/)
  await dialog.getByLabel('Tags').fill('project=alpha')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })

  for (const model of ['near', 'far']) await call(model)
  await call('near', 'project=beta')
  await page.reload()
  // Below the members, of whom one has the first tag.
  for (const [tag, cost] of [
    ['project=alpha', /3\.00/],
    ['project=beta', /1\.00/],
  ] as const)
    await rowOf(tag).last().getByRole('cell', { name: cost }).waitFor()
  t.same(await seriousFindings(page), [], 'team')

  await window.open(`member/${body.data.id}`)
  await page.getByRole('definition').filter({ hasText: 'project=alpha' }).waitFor()

  await window.open('usage?by=tag')
  await page.getByRole('link', { name: 'project=alpha' }).click()
  await rowOf('far').waitFor()
  t.match(await rowOf('near').textContent(), /1\.00/, 'without the call of the other tag')
  t.match(await rowOf('far').textContent(), /2\.00/)
  t.same(await seriousFindings(page), [], 'models of a tag')
  t.same(window.faults, [])
})
