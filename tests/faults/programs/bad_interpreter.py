#!/opt/no/such/python3
print('{"score": 1}')
