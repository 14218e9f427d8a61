import { isRejoinError } from '../errors.ts'

/**
 * One value that the browser has lost (large ones lie in files of their own) fails a whole `getAll`. Then each row is
 * asked for alone, and those that cannot be read are left out.
 */
export async function readAllOrOneByOne<Key>(
  readAll: () => Promise<readonly unknown[]>,
  readKeys: () => Promise<readonly Key[]>,
  readOne: (key: Key) => Promise<unknown>,
  onUnreadable: (key: Key) => void,
): Promise<readonly unknown[]> {
  try {
    return await readAll()
  } catch (error) {
    if (!isRejoinError(error, 'storage-corrupt')) throw error
  }
  const values: unknown[] = []
  for (const key of await readKeys()) {
    try {
      const value = await readOne(key)
      if (value !== undefined) values.push(value)
    } catch (error) {
      if (!isRejoinError(error, 'storage-corrupt')) throw error
      onUnreadable(key)
    }
  }
  return values
}
