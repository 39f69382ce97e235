/** Sends one mail through the SMTP server that the operator configured: one connection per mail. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { SendMail } from '../plugin.ts'

/** Loads nodemailer at the first mail. */
export const sendMail: SendMail = async (server, mail, timeout) => {
  const { host, port, user, password, tls, ca } = server
  const { createTransport } = await import('nodemailer')
  // The deadline of the whole connection. nodemailer only limits inactivity: its own limits must
  // be longer, otherwise either of the two errors can come first.
  const signal = AbortSignal.timeout(timeout)
  const inactivity = 2 * timeout
  const connection = connect({ host, port })
  const end = () => connection.destroy(signal.reason)
  signal.addEventListener('abort', end)
  try {
    await once(connection, 'connect')
    const transport = createTransport({
      host,
      port,
      connection,
      secure: tls === 'implicit',
      requireTLS: tls === 'starttls',
      ignoreTLS: tls === 'off',
      ...(ca !== undefined && { tls: { ca } }),
      ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
      connectionTimeout: inactivity,
      greetingTimeout: inactivity,
      socketTimeout: inactivity,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    const { response } = await transport.sendMail(mail)
    return response
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', end)
    connection.destroy()
  }
}
