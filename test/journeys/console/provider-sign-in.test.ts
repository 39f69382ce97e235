/** Sign-in by an identity provider on another site, in a browser: button, refusals, the page that
 *  was left, and sign-out, in both languages and sizes. */
import t from 'tap'
import { seriousFindings } from '../../helpers/console/accessibility.ts'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import { WIDER } from '../../helpers/console/check-views.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { makeKeys, openProvider } from '../../plugins/identity/provider.ts'
import { signInProvider, signInRoutes } from '../../plugins/identity/sign-in-provider.ts'

const KEYS = makeKeys('first')
const BUTTON = { en: 'Sign in with your organisation', zh: '使用组织账号登录' }

t.test('sign-in by the provider, in a browser', { skip: missingBrowser }, async t => {
  // Another host is another site: its redirects carry no cookie that is SameSite=Strict.
  const provider = await openProvider(t, 'localhost')
  const gateway = await startGateway({
    routes: signInRoutes(provider.issuer),
  })
  t.teardown(() => gateway.stop())
  const browser = await startBrowser(t)
  const { url } = gateway
  for (const width of [1440, 390]) {
    const window = await openWindow(t, browser, gateway, { width })
    const { page } = window
    const check = async (name: string) => {
      t.same(await seriousFindings(page), [], `${name}, ${width} px`)
      t.same(await page.evaluate(WIDER), [], `${name}, ${width} px: nothing is wider`)
    }
    const button = page.getByRole('link', { name: BUTTON.en })
    const signInAs = async (name: string) => {
      await button.click()
      await page.getByLabel('Name').fill(name)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    const reopen = async (place: string) => {
      await page.goto('about:blank')
      await page.goto(`${url}/console#${place}`)
    }
    await reopen('/usage?by=day')
    await button.waitFor()
    await check('the sign-in page')
    if (width === 1440) await button.click()
    else await reopen('refused=SIGN_IN_PROVIDER&request=req_1')
    await page.getByText('does not answer').waitFor()
    t.equal(page.url(), `${url}/console`, 'the address does not repeat the refusal')
    await page.getByText(/^Request req_/).waitFor()
    await check('the provider is away')
    await page.getByRole('button', { name: '中文' }).click()
    await page.getByText('组织的登录服务没有响应').waitFor()
    await page.getByRole('link', { name: BUTTON.zh }).waitFor()
    await page.getByRole('button', { name: 'English' }).click()

    if (width === 1440) await provider.start(KEYS, signInProvider({ keys: KEYS, gateway: url }))
    await signInAs('eve')
    await page.getByText('does not say which account or role').waitFor()
    await check('a person without a role')
    await page.context().clearCookies()

    await reopen('/usage?by=day')
    await signInAs('ann')
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    t.equal(page.url(), `${url}/console#/usage?by=day`, 'back on the page that was left')
    t.equal(await page.evaluate('document.cookie'), '', 'scripts see no cookie')
    t.notMatch(
      await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])'),
      /eyJ|ss-/,
    )
    await page.reload()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    const out = page.getByRole('button', { name: 'Sign out' })
    if (!(await out.isVisible())) await page.getByRole('button', { name: 'More' }).click()
    await out.click()
    await page.getByRole('button', { name: 'Yes, sign out' }).waitFor()
    t.ok(page.url().startsWith(`${provider.issuer}/session/end?`))
    await page.getByRole('button', { name: 'Yes, sign out' }).click()
    await page.waitForURL(`${url}/console`)
    await button.waitFor()
    t.same(
      window.faults.filter(each => !each.includes(provider.issuer)),
      [],
    )
  }
})
